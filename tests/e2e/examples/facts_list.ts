const url = new URL('https://api.subsidia.protypa.fr/v1/ai/extracted-data')
url.searchParams.set('source', 'ticket-4812')
const { data, count } = await fetch(url, {
  headers: { Authorization: 'Bearer ' + process.env.SUBSIDIA_API_KEY },
}).then((r) => r.json())
