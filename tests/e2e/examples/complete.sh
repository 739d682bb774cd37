curl https://api.subsidia.protypa.fr/v1/ai/complete \
  -H "Authorization: Bearer $SUBSIDIA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "systemPrompt": "You are a support assistant. Answer briefly.",
    "messages": [
      {"role": "user", "content": "Hi, I am Marie Lambert, please call me on 06 12 34 56 78 after 5pm."}
    ],
    "supplementary": [
      {"category": "customer", "label": "Account", "priority": "high", "data": {"plan": "Pro", "since": "2024-03"}}
    ],
    "extraction": {"source": "ticket-4812", "categories": ["contact", "preferences"]},
    "temperature": 0.2
  }'
