// An agent on @anthropic-ai/sdk: reads a job from stdin, runs every tool call to its end, prints the answers.
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

const { base, key, stream, result, turns, ...asked } = JSON.parse(readFileSync(0, "utf8"));
const client = new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0 });
const answers = [];
for (;;) {
  const answer = stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
  answers.push(answer);
  const used = answer.content.filter((block) => block.type === "tool_use");
  if (used.length === 0 || answers.length === turns) break;
  const results = used.map((block) => ({ type: "tool_result", tool_use_id: block.id, content: result }));
  asked.messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
}
console.log(JSON.stringify(answers));
