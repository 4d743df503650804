import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import ts from "typescript";
import { listSourceFiles, root } from "./rooms.ts";

/** Words in names for which the field has one of its own, and that word (docs/glossary.md). */
const words = [
  { word: /giveBack|gaveBack|givenBack/i, instead: "release, of what was acquired" },
  { word: /departure/i, instead: "gracefulClose" },
  { word: /^news$|[a-z]News$|^news[A-Z]/, instead: "notification, or backfill" },
  { word: /courier/i, instead: "file delivery" },
  { word: /goneTier/i, instead: "fallbackTier" },
  { word: /spareMs$/i, instead: "graceMs" },
  { word: /patienceMs$/i, instead: "idleTimeoutMs" },
  {
    word: /^told(?![a-z])|Told(?![a-z])/,
    instead: "known, reported, shown or sent, or the noun: status, version, head",
  },
  { word: /^tells?(?![a-z])/, instead: "report, notify, show, describe or answer" },
  { word: /^asked(?![a-z])|Asked(?![a-z])/, instead: "requested, or the noun: request, answer, reply" },
  {
    // A person is asked.
    word: /^[aA]sk(?:s|ing)?(?![a-z]|ToConfirm$)|[a-z]Ask(?:s|ing)?(?![a-z])/,
    instead: "request, send or query, or what is looked at or checked",
  },
  { word: /^questions$|[a-z]Questions$|^http_?question$/i, instead: "request or query; a question is put to a person" },
  {
    word: /^gives?$|^give(?:Back|Read|To)|[a-z]Give(?:Back)?$/,
    instead: "release, of what was acquired; deliver, of answers",
  },
  { word: /^take$|^taker$|[a-z]Taker$/i, instead: "acquire, of what is released later; receive, read, add or apply" },
  { word: /^dut(?:y|ies)(?![a-z])|Dut(?:y|ies)(?![a-z])/, instead: "leader, candidate, term or lease" },
  { word: /^strangers?(?![a-z])|Strangers?(?![a-z])/, instead: "unknown keys, or unknown" },
  { word: /examination/i, instead: "diagnosis" },
  { word: /incarnation/i, instead: "instanceId" },
  { word: /^(?:first|most)Ms$/, instead: "initialMs, maxMs" },
  { word: /^beside(?!s)|[a-z]Beside(?!s)/, instead: "next to, with, near or other" },
  { word: /^mend|[a-z]Mend/, instead: "fix or repair" },
] as const;

/** Keys of what is stored, which a later release reads, of what sidecar and command line say to each other, and of settings. */
const stored = new Set([
  "cli/stack-upgrade/check-stack.ts: tellsVersion",
  "cli/stack-upgrade/prove-node.ts: tellsVersion",
  "cli/stack-upgrade/stack-record.ts: tellsVersion",
  "gateway/listener/listeners.ts: tellAgeAfterMs",
  "gateway/settings/gateway.ts: tellAgeAfterMs",
  "sidecar/upkeep/control/control-answers.ts: asksAgain",
  "sidecar/upkeep/control/resume-command.ts: asksAgain",
  "sidecar/upkeep/control/upkeep-control.ts: asksAgain",
  "sidecar/upkeep/restart/due-restart.ts: incarnation",
  "sidecar/upkeep/restart/due-restart.ts: isAsked",
  "sidecar/upkeep/restart/hold.ts: isAsked",
  "sidecar/upkeep/restart/restart-incident.ts: incarnation",
  "sidecar/upkeep/state/scheduled-upgrade.ts: asked",
  "sidecar/upkeep/state/upkeep-state.ts: incarnation",
  "sidecar/upkeep/state/upkeep-state.ts: isAsked",
  "sidecar/upkeep/state/upgrade-record.ts: tellsVersion",
  "sidecar/upkeep/upgrade/begin-scheduled.ts: asked",
  "sidecar/upkeep/upgrade/check-node.ts: tellsVersion",
  "sidecar/upkeep/upgrade/check-restore.ts: tellsVersion",
  "sidecar/upkeep/upgrade/prove-version.ts: tellsVersion",
  "sidecar/upkeep/upgrade/request-upgrade.ts: asked",
]);

/** Names in programs; a test may call a thing what it likes. */
const names = listSourceFiles()
  .filter((path) => !path.startsWith("test/") && !path.includes("/testing/") && !path.endsWith(".test.ts"))
  .flatMap(namesIn);

test.each(words)("no name has $word", ({ word, instead }) => {
  expect(names.length).toBeGreaterThan(10_000);
  const found = names.filter(({ path, name }) => word.test(name) && !stored.has(`${path}: ${name}`));
  expect(
    found.map(({ path, line, name }) => `${path}:${line}: ${name}`),
    `write ${instead}`,
  ).toEqual([]);
});

test("no name is excepted that is gone", () => {
  const present = new Set(names.map(({ path, name }) => `${path}: ${name}`));
  expect([...stored].filter((name) => !present.has(name))).toEqual([]);
});

type Name = Readonly<{ path: string; line: number; name: string }>;

function namesIn(path: string): readonly Name[] {
  const source = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest);
  const found: Name[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ path, line: line + 1, name: node.text.replace(/^#/, "") });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
