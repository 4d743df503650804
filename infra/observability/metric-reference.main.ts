import { writeFile } from "node:fs/promises";
import { renderMetricReference } from "./metric-reference.ts";

await writeFile(new URL("../../docs/metrics.md", import.meta.url), renderMetricReference());
