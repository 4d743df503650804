import { parseArgs } from "node:util";
import { formatVerdicts, judge, print } from "../gateway/table.ts";
import { measureSales } from "./sales.ts";

/** Measures the sales alone; `npm run bench:payments` measures them with the rest. */
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    sales: { type: "string", default: "1500" },
    "at-once": { type: "string", default: "64" },
  },
});
const figures = await measureSales({
  rounds: Number(values.rounds),
  sales: Number(values.sales),
  atOnce: Number(values["at-once"]),
});
print("sales", formatVerdicts(judge(figures)));
