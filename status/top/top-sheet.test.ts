import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { downStatus, rightStatus } from "../testing/sample-status.ts";
import { renderSheet } from "./top-sheet.ts";
import { topStatus } from "./top-status.ts";

const sheet = (status: unknown, options: Partial<Parameters<typeof renderSheet>[1]> = {}) =>
  renderSheet(topStatus.parse(status), { width: 80, isColored: false, ...options });

test("a node that is right fits on a screen of 80 columns and 24 rows", () => {
  expect(`\n${sheet(rightStatus).join("\n")}\n`).toBe(`
node-7  http://127.0.0.1:18100  node/v0.16.2                        12:00:00 UTC

Healthy
All 19 checks pass.

Last block     1,234,567, 1 s ago       RPC            2.6 ms
Requests       12.3/s                   Errors         0 %, 0.5/s limited
Restarts left  2 of 3 per hour          Disk free      45.6 %, 115 GiB

Tier            req/s  err/s  lim/s  Method                  req/s  err/s  lim/s
public           12.3      0    0.5  eth_call                   10      0    0.5
                                     eth_getTransactionRec…   2.34      0      0
Limited: public by burst, 30/min.
`);
});

test("a node that is down says for how long, why, and what to do, step by step", () => {
  expect(`\n${sheet(downStatus).slice(2, 16).join("\n")}\n`).toBe(`
Node down for 1 min 15 s
Its RPC refuses connections. Gatehouse is about to restart it.

Last block     1,234,567, 75 s ago      RPC            Refused
Requests       12.3/s                   Errors         0 %, 0.5/s limited
Restarts left  0 of 3 per hour          Disk free      45.6 %, 115 GiB

The RPC does not answer, for 1 min 15 s
  RpcAnswering: Refused. http://127.0.0.1:18100 can't be reached (ECONNREFUSED);
  is the node running, and is this its address?
  1. Look at the end of the node's log.
     tail -n 50 /srv/node/log/node.log
  2. Start the node if it does not run.
  Because of it: New blocks arrive.
`);
});

test("no line is longer than the terminal but a command, which is whole", () => {
  for (const width of [80, 100]) {
    const lines = sheet(downStatus, { width, isColored: true }).map((line) => stripVTControlCharacters(line));
    expect(lines.filter((line) => line.length > width)).toEqual([]);
  }
  const command = `tail ${"x".repeat(100)}`;
  const incident = { ...downStatus.incidents[0], steps: [{ text: "Look.", command }] };
  expect(sheet({ ...downStatus, incidents: [incident] })).toContain(`     ${command}`);
});

test("what a node says of itself can't steer the terminal", () => {
  const node = { ...rightStatus.node, clientVersion: "\u001b[2Jnode\u009b5m\r\n\u202ev1" };
  const text = sheet({ ...rightStatus, node }).join("\n");
  for (const steering of ["\u001b", "\u009b", "\r", "\u202e"]) expect(text).not.toContain(steering);
  expect(text).toContain("node");
});

test("a listener that is silent is shown above what is known, which grows old", () => {
  const lines = sheet(rightStatus, { silence: { why: "It can't be queried.", forMs: 75_000 } });
  expect(lines[0]).toBe("No answer for 1 min 15 s; what is below is old. It can't be queried.");
  expect(lines.join("\n")).toContain("1,234,567, 76 s ago");
});

test("a gateway alone reports no verdict, figures and traffic: what it does report is shown", () => {
  const { verdict: _, headline: __, incidents: ___, figures: ____, traffic: _____, ...alone } = downStatus;
  expect(sheet(alone).slice(2, 6)).toEqual([
    "Something is wrong",
    "0 of 1 conditions are right.",
    "",
    "Last block     1,234,567, old           RPC            no answer",
  ]);
  expect(sheet(alone).join("\n")).toContain("The RPC answers, for 1 h\n  RpcAnswering: Refused. It does.");
});
