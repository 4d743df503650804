import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

/** What a function may begin with. A word that is missing belongs here if it says what the function does, or answers yes or no. */
const verbs = new Set(
  `
  add admit advance age allows annotate answer answers apply arm as ask assign attack attempt audit bars begin
  begins boot bound buffer build bundle buy call can cancel cause change charge check choose claim clear close
  collect compare compile compose compress compute confirm connect copy count create cut decide define delete deny
  deliver deploy derive describe diagnose digest discard divert do double download drain drive drop dump edit encode end escape expand
  expect explain explains fail fetch find finish fit flush follow forecast forget format free from gather get give
  grow guard halt hang has hash hasten hold identify insert inspect install is join judge keep lift limit link lint list listen
  load locate lock log look looks make mark mask may measure memoize merge migrate monitor mount must name names
  needs note notify observe offer on open outlives own parse pass pause pay pick place plan poll post prefer preflight
  prepare price print process prove prune purchase push put quote raise rank reach read recognize record redact
  refuse register release remember remove rename render repeat replace report request require resolve restart
  restore resume return revert rewrite roll route run sample save scale schedule scrape see seed select sell sells send serialize
  serve serves set settle share show shows shut sign simulate skip sort spawn split spread start steer stop store
  strip suggest sum supervise sweep sync take test tidy to trace trim unpack update upgrade uses verify view wait
  warn watch wire with without wrap write
`
    .trim()
    .split(/\s+/),
);

/** Names that stay, by why they do. */
const exceptions = [
  {
    why: "published in the npm package, or named like what is",
    names:
      "payingFetch tokenReader deploymentSecret gatehousePolicies stackArgs facilitatorSpec nodeSpec pushgatewaySpec resourceServerSpec sidecarSpec alertmanagerSpec engineProxySpec grafanaSpec postgresSpec prometheusSpec restoreSpec upstreamSpec volumeSnapshotSpec",
  },
  {
    why: "read as a sentence where it is called: a schema, a wait, a query of Prometheus",
    names:
      "secret section step within until series labelled condition wrongFor unknownFor shownLabel shownReason selected perInstance rateBy quantile byBlock",
  },
  {
    why: "make an error or a refusal, and are named for what it says, as the errors that are always the same are",
    names:
      "methodNotFound paramsTooLarge invalidParams unknownSubscription rangeTooLarge rangeAboveCap rateExceeded tooManyCalls tooManySubscriptions tooManyUpstreamSubscriptionsOfCaller addressNotAdmitted bodyTooLarge tooManyWebSockets",
  },
].flatMap(({ names }) => names.split(" "));

const functions = listSourceFiles()
  .filter((path) => !path.endsWith(".test.ts"))
  .flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/^export (?:async )?function\*? (\w+)/gm)].map(
      ([, name = ""]) => ({ path, name }),
    ),
  );

it("an exported function begins with a verb", () => {
  expect(functions.length).toBeGreaterThan(1_000);
  const others = functions.filter(
    ({ name }) => !exceptions.includes(name) && !verbs.has(/^[a-z0-9]+/.exec(name)?.[0] ?? ""),
  );
  expect(others.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

it("no name is excepted that is gone", () => {
  const names = new Set(functions.map(({ name }) => name));
  expect(exceptions.filter((name) => !names.has(name))).toEqual([]);
});
