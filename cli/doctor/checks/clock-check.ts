import { listAnswering, createFindings, type Check } from "../check.ts";

const look = createFindings("clock");

/** Difference from which two clocks disagree; payments are valid for minutes, and an authorization begins a few seconds in the past. */
const toleratedMs = 5_000;

/** Checks that the clocks of the services agree with this machine's. Which of two is wrong is not known here; a node's blocks show more. */
export const clockCheck: Check = async ({ services }) =>
  listAnswering(services).flatMap(({ service: { service, metric, requestedAtMs } }) => {
    const seconds = metric("gatehouse_time_seconds");
    if (seconds === undefined) return [look(service, "unknown", "its clock is not known: it gives no metrics")];
    const offMs = seconds * 1_000 - requestedAtMs;
    if (Math.abs(offMs) <= toleratedMs) return [look(service, "right", "its clock and this machine's agree")];
    const direction = offMs > 0 ? "ahead of" : "behind";
    return [
      look(
        service,
        "wrong",
        `its clock is ${Math.round(Math.abs(offMs) / 1_000)} s ${direction} this machine's: payments are refused as expired or not valid yet; \`timedatectl status\` on both machines shows which is not synchronised`,
      ),
    ];
  });
