// `npm run docs`: writes the pages, and the parts of pages, that are generated from the code.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { createProgram } from "../../cli/program.ts";
import { renderCommandReference } from "../../cli/reference/command-reference.ts";
import { renderSettingsReference } from "../../cli/reference/settings-reference.ts";
import { loadDefinitions } from "../../cli/service-definitions.ts";
import { withAuditActions } from "#daemon/audit/reference.ts";
import { printLogEvents } from "#daemon/log/events/reference.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { renderMethodReference } from "#gateway/catalogue/reference.ts";
import { withDeclaredKeys } from "#infra/config/pulumi-yaml.ts";
import { renderMetricReference } from "../observability/metric-reference.ts";
import { withComponents } from "#infra/stack-component/components-page.ts";
import { lintDocument } from "#node/lint/report/lint-document.ts";
import { renderConditionReference } from "#sidecar/page/condition-reference.ts";
import { planDocument } from "#sidecar/upkeep/plan/plan-document.ts";
import { writeBenchmarksPage } from "../bench/benchmarks-page.ts";
import { withRoomTable } from "../style/room-table.ts";
import { printLlms } from "./llms.ts";

const definitions = await loadDefinitions();

write("docs/settings.md", () => renderSettingsReference(definitions));
write("docs/command-line.md", () => renderCommandReference(createProgram({ mask: createMask() })));
write("docs/schemas/lint.schema.json", () => formatSchema(lintDocument));
write("docs/schemas/plan.schema.json", () => formatSchema(planDocument));
write("docs/rpc-methods.md", () => renderMethodReference());
write("docs/conditions.md", () => renderConditionReference());
write("docs/log-events.md", printLogEvents);
write("docs/logs.md", withAuditActions);
write("docs/components.md", withComponents);
write("docs/architecture.md", withRoomTable);
write("docs/metrics.md", renderMetricReference);
write("Pulumi.yaml", withDeclaredKeys);
await writeBenchmarksPage();
write("llms.txt", printLlms);

function write(page: string, render: (before: string) => string): void {
  const path = join(import.meta.dirname, "../..", page);
  writeFileSync(path, render(readFileSync(path, "utf8")));
}

function formatSchema(document: z.ZodType): string {
  const schema = z.toJSONSchema(document, {
    // A later version may add fields; `readOnly` everywhere would not help readers.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
