import { formatAuthority } from "#daemon/http/address.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { createStackQuestions } from "./node-status.ts";

/**
 * Queries the sidecar of its own pod, and the node through the gateway there: `ask-node.main.ts look`, `block <number>` or `peers`. Prints the answer as JSON, and
 * `null` where there is none.
 */
const [question, number] = process.argv.slice(2);
const { ports } = stackServices.sidecar;
const addressOf = (port: number) => `http://${formatAuthority("127.0.0.1", port)}`;
const questions = createStackQuestions({ statusUrl: addressOf(ports.status), rpcUrl: addressOf(ports.rpc) });
process.stdout.write(`${JSON.stringify((await ask()) ?? null)}\n`);

function ask(): Promise<unknown> {
  if (question === "look") return questions.look();
  if (question === "peers") return questions.peers();
  if (question === "block" && number !== undefined) return questions.blockHash(Number(number));
  throw new Error("usage: ask-node.main.ts look | block <number> | peers");
}
