import { writeFileSync } from "node:fs";
import { compileContracts, compileToken } from "./compiler.ts";

// `npm run build:contracts`: writes the artifacts committed next to the sources.
for (const [path, artifact] of [
  ["../token/token.artifact.json", compileToken()],
  ["./contracts.artifact.json", compileContracts()],
] as const) {
  writeFileSync(new URL(path, import.meta.url), `${JSON.stringify(artifact, null, 2)}\n`);
  process.stdout.write(`${path}: ${artifact.compiler}\n`);
}
