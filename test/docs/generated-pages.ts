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
import { printBenchmarks } from "../bench/benchmarks-page.ts";
import { readResults } from "../bench/results.ts";
import { withRoomTable } from "../style/room-table.ts";
import { printLlms } from "./llms.ts";

const definitions = await loadDefinitions();
const results = await readResults();

/** Functions that generate each page from its current text, in an order that writes a page before others quote it. */
export const generatedPages: Readonly<Record<string, (before: string) => string>> = {
  "docs/settings.md": () => renderSettingsReference(definitions),
  "docs/command-line.md": () => renderCommandReference(createProgram({ mask: createMask() })),
  "docs/schemas/lint.schema.json": () => formatSchema(lintDocument),
  "docs/schemas/plan.schema.json": () => formatSchema(planDocument),
  "docs/rpc-methods.md": () => renderMethodReference(),
  "docs/conditions.md": () => renderConditionReference(),
  "docs/log-events.md": printLogEvents,
  "docs/logs.md": withAuditActions,
  "docs/components.md": withComponents,
  "docs/architecture.md": withRoomTable,
  "docs/metrics.md": renderMetricReference,
  "Pulumi.yaml": withDeclaredKeys,
  "docs/benchmarks.md": () => printBenchmarks(results),
  "llms.txt": printLlms,
};

function formatSchema(document: z.ZodType): string {
  const schema = z.toJSONSchema(document, {
    // A later version may add fields, and `readOnly` on every field would not help readers.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
