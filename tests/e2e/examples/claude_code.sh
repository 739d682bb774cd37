export ANTHROPIC_BASE_URL="https://api.subsidia.protypa.fr"
export ANTHROPIC_AUTH_TOKEN="sk_live_..."
export ANTHROPIC_MODEL="pulse-agent+cortex"   # full model, grounded in your documents
claude
