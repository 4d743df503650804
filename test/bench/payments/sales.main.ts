import { parseArgs } from "node:util";
import { formatVerdicts, judge, print } from "../gateway/table.ts";
import { measureSales } from "./sales.ts";

/** Measures the sales alone, with wrk for unpaid requests; `npm run bench:payments` measures them with the rest. */
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    sales: { type: "string", default: "1500" },
    seconds: { type: "string", default: "4" },
    "at-once": { type: "string", default: "64" },
  },
});
const figures = await measureSales({
  rounds: Number(values.rounds),
  sales: Number(values.sales),
  unpaidSeconds: Number(values.seconds),
  atOnce: Number(values["at-once"]),
});
print("sales", formatVerdicts(judge(figures)));
