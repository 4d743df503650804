import { readFileSync, writeFileSync } from "node:fs";
import { observabilityKeys } from "./observability-keys.ts";
import { withDeclaredKeys, withKeyTable } from "./pulumi-yaml.ts";

/** `npm run docs`: generates the keys of `Pulumi.yaml` and the table in docs/observability.md from the schema. */
const file = new URL("../../Pulumi.yaml", import.meta.url);
writeFileSync(file, withDeclaredKeys(readFileSync(file, "utf8")));
const page = new URL("../../docs/observability.md", import.meta.url);
writeFileSync(page, withKeyTable(readFileSync(page, "utf8"), observabilityKeys));
