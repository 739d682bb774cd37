const res = await fetch('https://api.subsidia.protypa.fr/v1/chat/completions', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ' + process.env.SUBSIDIA_API_KEY,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    model: 'pulse-auto',
    messages: [{ role: 'user', content: 'Hi' }],
  }),
})

console.log({
  provider: res.headers.get('x-pulse-provider'),
  masked: Number(res.headers.get('x-pulse-pii-masked')),
  proof: res.headers.get('x-pulse-proof'),
})

const body = await res.json()
console.log(body.model, body.pulse.task) // model that answered, resolved task
