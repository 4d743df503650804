import { writeFile } from "node:fs/promises";
import { printMetricReference } from "./metric-reference.ts";

await writeFile(new URL("../../docs/metrics.md", import.meta.url), printMetricReference());
