import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: 'https://api.subsidia.protypa.fr/v1',
  apiKey: process.env.SUBSIDIA_API_KEY,
})

const res = await client.chat.completions.create({
  model: 'pulse-auto+cortex',
  messages: [{ role: 'user', content: 'What notice period does the Martin lease require?' }],
})
// res.pulse.grounded_sources is the number of passages the certificate commits to
console.log(res.choices[0].message.content, (res as any).pulse)
