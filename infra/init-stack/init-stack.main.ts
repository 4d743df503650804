// `npm run init-stack -- <name>`: prompts for the configuration of a new stack and writes the stack's configuration file.
import { join } from "node:path";
import { initStack } from "./init-stack.ts";

const [, , name, directory = join(import.meta.dirname, "../..")] = process.argv;
const output = {
  out: (text: string) => void process.stdout.write(text),
  error: (text: string) => void process.stderr.write(text),
};
if (name === undefined) {
  output.error("Usage: npm run init-stack -- <name of the new stack>\n");
  process.exitCode = 1;
} else {
  process.exitCode = await initStack(name, directory, output);
}
