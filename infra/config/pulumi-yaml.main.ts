import { readFileSync, writeFileSync } from "node:fs";
import { withDeclaredKeys } from "./pulumi-yaml.ts";

/** `npm run docs`: generates the keys in `Pulumi.yaml` from the schema. */
const file = new URL("../../Pulumi.yaml", import.meta.url);
writeFileSync(file, withDeclaredKeys(readFileSync(file, "utf8")));
