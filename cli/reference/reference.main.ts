import { writeFile } from "node:fs/promises";
import { z } from "zod";
import { createMask } from "#daemon/secrets/mask.ts";
import { lintDocument } from "#node/lint/report/lint-document.ts";
import { planDocument } from "#sidecar/upkeep/plan/plan-document.ts";
import { createProgram } from "../program.ts";
import { loadDefinitions } from "../service-definitions.ts";
import { renderCommandReference } from "./command-reference.ts";
import { renderSettingsReference } from "./settings-reference.ts";

const write = (page: string, text: string) => writeFile(new URL(`../../docs/${page}`, import.meta.url), text);

await write("settings.md", renderSettingsReference(await loadDefinitions()));
await write("command-line.md", renderCommandReference(createProgram({ mask: createMask() })));

const documents = { lint: lintDocument, plan: planDocument };

for (const [name, document] of Object.entries(documents)) {
  const schema = z.toJSONSchema(document, {
    // A later version may add fields; `readOnly` everywhere would not help readers.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
    },
  });
  await write(`schemas/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
