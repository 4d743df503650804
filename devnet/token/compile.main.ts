import { writeFileSync } from "node:fs";
import { compileToken } from "./compiler.ts";

// `npm run build:token`: writes the artifact committed next to the source.
const artifact = compileToken();
writeFileSync(new URL("./token.artifact.json", import.meta.url), `${JSON.stringify(artifact, null, 2)}\n`);
process.stdout.write(`token.artifact.json: ${artifact.compiler}, ${(artifact.bytecode.length - 2) / 2} bytes\n`);
