import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { observabilityKeys } from "#infra/config/observability-keys.ts";
import { metricCatalogue } from "./metric-catalogue.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { verdictLevels } from "#status/verdict.ts";
import { allKeys, allSettings } from "../support/all-settings.ts";
import { alerts, ruleGroups } from "./committed-rules.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "docs/runbooks");
const recorded = new Set<string>(
  ruleGroups.flatMap(({ rules }) => rules.flatMap((rule) => ("record" in rule ? [rule.record] : []))),
);
const files = globSync("*.md", { cwd: folder }).toSorted();
const pages = files
  .filter((name) => name !== "README.md")
  .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
const index = readFileSync(join(folder, "README.md"), "utf8");

/** The defaults of all settings. */
const defaults = new Set(allSettings.map((leaf) => leaf.default));
const commands = new Set(
  globSync("cli/{*,commands/*}.ts", { cwd: root })
    .map((path) => readFileSync(join(root, path), "utf8"))
    .flatMap((text) => [...text.matchAll(/new Command\("([\w-]+)"\)/g)].map(([, name]) => name)),
);
/** Keys of a stack's own monitoring, at any depth, with their defaults. */
const stackKeys = new Map(
  listProperties(
    "observability",
    z.toJSONSchema(observabilityKeys.observability, { io: "input", unrepresentable: "any" }),
  ),
);
/** Paths that a service's or the sidecar's admin port, Prometheus or the Alertmanager serves. */
const routes = new Set(["/", "/livez", "/readyz", "/metrics", "/status", "/api"]);
const metric = (name: string) => name in metricCatalogue || recorded.has(name);
const queries = (text: string) =>
  [...text.matchAll(/^```promql\n([^]*?)^```$/gm)].flatMap(([, block = ""]) => block.trimEnd().split("\n"));
const isListenedAt = (port: string) => defaults.has(port) || [...stackKeys.values()].includes(Number(port));
const quoted = (text: string) =>
  [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);

describe("the runbooks", () => {
  it("have exactly one page per alert", () => {
    expect(pages.map(({ name }) => name)).toEqual([...alerts.values()].toSorted());
    for (const [alert, file] of alerts) {
      const { text } = pages.find(({ name }) => name === file) ?? { text: "" };
      expect(text).toContain(`Alert \`${alert}\`.`);
      expect(index).toMatch(new RegExp(`^- \`${alert}\`: \\[.+\\]\\(${file}\\)$`, "m"));
    }
  });

  it.each(pages)("$name has a query and all the sections of a runbook", ({ text }) => {
    const parts = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(parts).toEqual(["What it means", "Check", "Fix", "Escalation"]);
    expect(queries(text)).not.toEqual([]);
  });

  it.each(pages)("$name links to where its commands are run", ({ text }) => {
    expect(text).toContain(
      "## Check\n\nWhere to run this: [runbooks](README.md#where-to-run-the-commands).\n\n```sh\n",
    );
    expect(index).toContain("\n## Where to run the commands\n");
  });

  it.each([...pages, { name: "README.md", text: index }])("$name has no broken links", ({ text }) => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !existsSync(join(folder, link.replace(/#.*$/, ""))))).toEqual([]);
  });

  it.each(pages)("$name names existing conditions, reasons, metrics and settings", ({ text }) => {
    const conditions = Object.entries(conditionReasons);
    const words = new Set<string>(
      conditions.flatMap(([type, { True, False, Unknown }]) => [type, "True", "False", ...True, ...False, ...Unknown]),
    );
    const unknown = quoted(text).filter((word) => {
      if (/^Gatehouse[A-Z]/.test(word)) return !alerts.has(word);
      if (/^[A-Z][A-Za-z]+$/.test(word)) return !words.has(word);
      if (/^[a-z]+(?:\.[a-zA-Z]+)+$/.test(word) && word !== "node.conf") {
        return !allKeys.has(word) && !stackKeys.has(word);
      }
      return false;
    });
    const named = [...text.matchAll(/\bgatehouse[_:][\w:]+/g)].map(([name]) => name);
    const unexposed = named.filter((name) => !metric(name) && !metric(name.replace(/_(?:bucket|sum|count)$/, "")));
    const types = [...text.matchAll(/\.type == "(\w+)"/g)].map(([, type = ""]) => type);
    expect({ unknown, unexposed, types: types.filter((type) => !(type in conditionReasons)) }).toEqual({
      unknown: [],
      unexposed: [],
      types: [],
    });
  });

  it.each(pages)("$name names existing commands, URLs and levels", ({ text }) => {
    const verbs = [...text.matchAll(/\bgatehouse ([a-z][\w-]*)/g)].map(([, verb = ""]) => verb);
    const paths = [...text.matchAll(/http:\/\/127\.0\.0\.1:(\d+)(\/\w*)/g)];
    const levels = /The verdict is ((?:`\w+`(?:, | or )?)+)/.exec(text)?.[1] ?? "";
    expect(verbs.filter((verb) => !commands.has(verb))).toEqual([]);
    expect(paths.map(([, , path = ""]) => path).filter((path) => !routes.has(path))).toEqual([]);
    expect(paths.map(([, port = ""]) => port).filter((port) => !isListenedAt(port))).toEqual([]);
    expect(quoted(levels).filter((level) => !verdictLevels.some((known) => known === level))).toEqual([]);
  });

  it.skipIf(!hasPromtool)(`have valid PromQL queries${withoutPromtool}`, () => {
    const rules = pages.flatMap(({ name, text }) =>
      queries(text).map((expr, place) => ({
        record: `page:${basename(name, ".md").replaceAll("-", "_")}:${place}`,
        expr,
      })),
    );
    const file = JSON.stringify({ groups: [{ name: "pages", rules }] });
    const { status, output } = runPromtool(["check", "rules", "pages.json"], { "pages.json": file });
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});

function listProperties(key: string, schema: object): readonly (readonly [key: string, fallback: unknown])[] {
  const inner = "properties" in schema ? Object.entries(schema.properties as Record<string, object>) : [];
  return [
    [key, "default" in schema ? schema.default : undefined],
    ...inner.flatMap(([name, one]) => listProperties(`${key}.${name}`, one)),
  ];
}
