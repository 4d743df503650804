import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { metricCatalogue } from "../observability/metric-catalogue.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { serviceNames } from "../../cli/service-definitions.ts";
import { alerts } from "../observability/committed-rules.ts";
import { allSettings } from "../support/all-settings.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const pages = globSync(["*.md", "*/README.md", "docs/**/*.md", "examples/**/*.md", "infra/**/*.md"], {
  cwd: root,
  exclude: ["node_modules/**", "docs/node_modules/**"],
})
  .filter((path) => path !== "CHANGELOG.md")
  .map((path) => ({ path, text: read(path) }));

const metrics = new Set([
  ...Object.keys(metricCatalogue),
  // Exposed by the devnet's node and by no service.
  "gatehouse_devnet_",
  // Schemas of the ledgers in PostgreSQL.
  "gatehouse_facilitator",
  "gatehouse_resource_server",
]);
const reasons: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(conditionReasons).map(([type, { True, False, Unknown }]) => [type, [...True, ...False, ...Unknown]]),
);
const variables = [
  ...allSettings.map(({ env }) => env),
  ...serviceNames.map((service) => toEnvironmentName(service, ["settingsPath"])),
];
/** Variables in no schema: those of tests, commands and scripts. */
const otherVariables = /^GATEHOUSE_(?:TEST|FUZZ|ATTACK|PAY|IMAGE|RUNNER|ENGINE_CACHE)/;
/** The sections of docs/command-line.md, which is generated from the commands, by command. */
const commands: Readonly<Record<string, string>> = Object.fromEntries(
  read("docs/command-line.md")
    .split(/^## /m)
    .map((section) => [/^.*/.exec(section)?.[0] ?? "", section]),
);

/** Metrics that no service exposes; a histogram `x` has the series `x_bucket`, `x_sum` and `x_count`. */
function findRemovedMetrics(text: string): readonly string[] {
  return [...text.matchAll(/\bgatehouse_[a-z0-9_]+/g)]
    .map(([name]) => name)
    .filter((name) => !metrics.has(name) && !metrics.has(name.replace(/_(?:bucket|sum|count)$/, "")));
}

function findGoneAlerts(text: string): readonly string[] {
  return [...text.matchAll(/`(Gatehouse[A-Z]\w+)`/g)].map(([, name = ""]) => name).filter((name) => !alerts.has(name));
}

/** Sentences such as "`NoRestartPending` is `EditRejected`" with a condition or a reason that does not exist. */
function findGoneReasons(text: string): readonly string[] {
  return [...text.matchAll(/`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`(?: is|:) `([A-Z][A-Za-z]+)`/g)]
    .filter(([, type = "", reason = ""]) => !(reasons[type] ?? []).includes(reason))
    .map(([sentence]) => sentence);
}

/** Lists unknown variables. A secret's variable may end with `_FILE`; one that ends with `_` or `…` is a prefix. */
function findGoneVariables(text: string): readonly string[] {
  return [...text.matchAll(/\b(GATEHOUSE_[A-Z0-9_]*)(…?)/g)]
    .filter(([, name = "", more]) => {
      if (otherVariables.test(name)) return false;
      if (more !== "" || name.endsWith("_")) return !variables.some((variable) => variable.startsWith(name));
      return !variables.includes(name) && !variables.includes(name.replace(/_FILE$/, ""));
    })
    .map(([name]) => name);
}

/** Lists options that the command does not have. */
function findGoneOptions(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:gatehouse|gatehouse-evm) ((?:config )?[a-z][a-z-]+)((?: [^`\n|]*)?)/g)].flatMap(
    ([, command = "", rest = ""]) => {
      const section = commands[command];
      if (section === undefined) return [];
      const [own = ""] = rest.split(/ [|#&] /);
      const options = [...own.matchAll(/ (--[a-z][a-z-]+)/g)].map(([, option = ""]) => option);
      return options
        .filter((option) => option !== "--help" && !section.includes(option))
        .map((option) => `${command} ${option}`);
    },
  );
}

describe.each(pages)("$path", ({ text }) => {
  it("names only existing metrics, alerts and condition reasons", () => {
    expect([...findRemovedMetrics(text), ...findGoneAlerts(text), ...findGoneReasons(text)]).toEqual([]);
  });

  it("names only existing variables and options", () => {
    expect([...findGoneVariables(text), ...findGoneOptions(text)]).toEqual([]);
  });
});
