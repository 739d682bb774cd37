type Triage = { category: 'invoice' | 'contract' | 'other'; urgent: boolean; summary: string }

async function triage(emailText: string): Promise<Triage | null> {
  const res = await fetch('https://api.subsidia.protypa.fr/v1/ai/complete', {
    method: 'POST',
    headers: {
      Authorization: 'Bearer ' + process.env.SUBSIDIA_API_KEY,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({
      systemPrompt:
        'Classify the email. Reply with a JSON object: ' +
        '{"category": "invoice" | "contract" | "other", "urgent": boolean, "summary": string (max 20 words)}.',
      messages: [{ role: 'user', content: emailText }],
      json: true,
      temperature: 0,
      max_tokens: 300,
    }),
  })
  const { content } = await res.json()
  try {
    const parsed = JSON.parse(content)
    const ok = ['invoice', 'contract', 'other'].includes(parsed.category) && typeof parsed.urgent === 'boolean'
    return ok ? (parsed as Triage) : null
  } catch {
    return null // send to a human instead of guessing
  }
}
