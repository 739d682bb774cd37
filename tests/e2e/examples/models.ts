const res = await fetch('https://api.subsidia.protypa.fr/v1/models', {
  headers: { Authorization: 'Bearer ' + process.env.SUBSIDIA_API_KEY },
})
const { data } = await res.json()
const agents = data.filter((m: { id: string }) => m.id.startsWith('agent:'))
console.log(agents.map((m: { id: string }) => m.id))
