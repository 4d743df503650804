import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

/** Words that a function may begin with. One that is missing belongs here if it says what the function does, or answers yes or no. */
const verbs = new Set(
  `
  acquire add admit advance age allows annotate answer answers apply arm as ask assign attack attempt audit bars begin begins
  boot buffer build bundle buy can cancel cause change charge check choose clear close collect compare compile compose
  compress compute confirm connect convert copy count create cut decide define delete deliver deny deploy derive
  describe diagnose digest discard divert do double download draw drive drop dump edit encode end escape estimate expand expect
  explain explains fail fetch find finish fit flush follow forecast forget format from gather get give grow guard handle hang
  has hash hasten hold identify insert inspect install is join judge keep lift limit link lint list listen load locate
  lock log look looks make mark mask may measure memoize merge migrate mine mount must name names needs note notify observe
  on open outlives parse pass pause pick poll post prefer preflight prepare print prove purchase put query quote raise reach
  read recognize record redact refuse register release remember remove rename render repeat replace report request
  require resolve restart restore resume return revert rewrite roll run save scale schedule scrape see select sell sells
  send serialize serve serves set share show shows shut sign simulate skip sort spawn split spread start steer stop
  store strip suggest sum supervise sweep sync take test tidy to trace trim unpack update uses view wait warn watch with
  without wrap write
`
    .trim()
    .split(/\s+/),
);

/** Words that are nouns as well, each with the functions that do what the verb says: `ownCommand` would be a command. */
const nounsToo: Readonly<Record<string, string>> = {
  bound: "boundChunks boundLines boundProcessConnections boundSale boundVerifications",
  call: "call callInProcess callRpc",
  claim: "claimState claimWorkspace",
  pay: "pay",
  place: "placeAmongPrograms placeTree",
  plan: "plan planGrowth planInstallation planRemoval planSettlementWithin planStack planUpgrade",
  price: "priceBytes",
  rank: "rankCondition",
  push: "pushProtobuf",
  settle: "settleClaim settleUntilKnown",
  upgrade: "upgradeDevnet upgradeInTurn upgradeSidecars upgradeStacks",
};
const phrases = new Set(Object.values(nounsToo).flatMap((names) => names.split(" ")));

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
      "callTooLarge methodNotFound paramsTooLarge invalidParams unknownSubscription rangeTooLarge rangeAboveCap rateExceeded tooManyCalls tooManySubscriptions tooManyUpstreamSubscriptionsOfCaller addressNotAdmitted bodyTooLarge tooManyWebSockets",
  },
].flatMap(({ names }) => names.split(" "));

const functions = listSourceFiles()
  .filter((path) => !path.endsWith(".test.ts"))
  .flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/^ *(?:export )?(?:async )?function\*? (\w+)/gm)].map(
      ([, name = ""]) => ({ path, name }),
    ),
  );

it("a function begins with a verb", () => {
  expect(functions.length).toBeGreaterThan(2_500);
  const others = functions.filter(
    ({ name }) => !exceptions.includes(name) && !phrases.has(name) && !isVerbPhrase(name),
  );
  expect(others.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

it("no name is excepted that is gone", () => {
  const names = new Set(functions.map(({ name }) => name));
  expect([...exceptions, ...phrases].filter((name) => !names.has(name))).toEqual([]);
});

it("a noun that is a verb too would be found, and so would `startOf`", () => {
  const nouns = [
    "ownCommand",
    "stopSignal",
    "pushUrl",
    "planText",
    "startOf",
    "writeOf",
    "freeRatioOf",
    "openApiDocument",
  ];
  expect(nouns.filter(isVerbPhrase)).toEqual([]);
  expect(["startNode", "stopNode", "openLedger", "findReleaseOfText"].filter((name) => !isVerbPhrase(name))).toEqual(
    [],
  );
});

/** Whether a name begins with a verb, unless that is a noun here: the start of something, a signal to stop, the document of an open API. */
function isVerbPhrase(name: string): boolean {
  if (/^(?:[a-z]+Of$|startTicks|stopSignal|openApi)/.test(name)) return false;
  return verbs.has(/^[a-z0-9]+/.exec(name)?.[0] ?? "");
}
