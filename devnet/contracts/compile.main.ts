import { writeFileSync } from "node:fs";
import { compileContracts } from "./compiler.ts";

// `npm run build:contracts`: writes the artifact committed next to the sources.
const artifact = compileContracts();
writeFileSync(new URL("./contracts.artifact.json", import.meta.url), `${JSON.stringify(artifact, null, 2)}\n`);
process.stdout.write(`contracts.artifact.json: ${artifact.compiler}\n`);
