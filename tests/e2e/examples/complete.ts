const res = await fetch('https://api.subsidia.protypa.fr/v1/ai/complete', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ' + process.env.SUBSIDIA_API_KEY,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    systemPrompt: 'You are a support assistant. Answer briefly.',
    messages: [{ role: 'user', content: 'Hi, I am Marie Lambert, please call me on 06 12 34 56 78 after 5pm.' }],
    supplementary: [{ category: 'customer', label: 'Account', priority: 'high', data: { plan: 'Pro', since: '2024-03' } }],
    extraction: { source: 'ticket-4812', categories: ['contact', 'preferences'] },
    temperature: 0.2,
  }),
})
if (res.status === 402) throw new Error('Out of questions')
const { content, usage, extracted } = await res.json()
