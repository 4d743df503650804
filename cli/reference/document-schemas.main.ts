import { writeFile } from "node:fs/promises";
import { z } from "zod";
import { lintDocument } from "#node/lint/report/lint-document.ts";
import { planDocument } from "#sidecar/upkeep/plan/plan-document.ts";

/** JSON documents that commands print, by schema name in `docs/schemas/`. */
const documents = { "lint.schema.json": lintDocument, "plan.schema.json": planDocument };

for (const [name, document] of Object.entries(documents)) {
  const schema = z.toJSONSchema(document, {
    // A later version may add fields; `readOnly` everywhere would not help readers.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
    },
  });
  const text = JSON.stringify(schema, null, 2);
  await writeFile(new URL(`../../docs/schemas/${name}`, import.meta.url), `${text}\n`);
}
