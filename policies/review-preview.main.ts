import { text } from "node:stream/consumers";
import { interruptionsOf } from "./interruptions.ts";

/**
 * `pulumi preview --json | node policies/review-preview.main.ts`: calls out what would interrupt the node or drop data. Ends with
 * status 0 when nothing is lost, 1 when data would be, 2 when the input is no preview.
 */
try {
  const found = interruptionsOf(JSON.parse(await text(process.stdin)) as unknown);
  for (const { urn, effect, because } of found) {
    const why = because.length === 0 ? "" : ` (because of ${because.join(", ")})`;
    process.stdout.write(`${effect}: ${urn.split("::").at(-1) ?? urn}${why}\n`);
  }
  if (found.length === 0) process.stdout.write("the node is not interrupted and no data is dropped\n");
  if (found.some(({ effect }) => effect === "drops chain data or a ledger")) process.exitCode = 1;
} catch (error) {
  process.stderr.write(
    `can't review the preview: ${String(error)}; pipe in the output of \`pulumi preview --json\`.\n`,
  );
  process.exitCode = 2;
}
