import { describe, expect, it } from "vitest";
import { parseConfig } from "../../stack-config.ts";
import { warnAboutMonitoring } from "./observability-args.ts";

const warningsOf = (observability: object | undefined, more: Readonly<Record<string, string>> = {}) =>
  warnAboutMonitoring(
    parseConfig({
      devAccounts: "true",
      tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
      ...(observability && { observability: JSON.stringify(observability) }),
      ...more,
    }),
  ).map(({ key, message }) => `${key}: ${message}`);

describe("what a preview warns of", () => {
  it("is nothing where nobody watches, or where all is set", () => {
    const runbookBaseUrl = "https://git.example/runbooks";
    const alertmanagerConfig =
      'route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: "https://a.example" }] }]';
    expect(warningsOf(undefined)).toEqual([]);
    expect(warningsOf({})).toEqual([]);
    expect(warningsOf({ runbookBaseUrl, prometheus: {}, alertmanager: {} }, { alertmanagerConfig })).toEqual([]);
  });

  it("is that alerts notify nobody, and that their links lead nowhere", () => {
    expect(warningsOf({ prometheus: {} })).toEqual([
      expect.stringMatching(/^observability\.prometheus: alerts fire in Prometheus but nobody is notified/),
      expect.stringMatching(
        /^observability\.runbookBaseUrl: not set, .*`pulumi config set --path observability\.runbookBaseUrl/,
      ),
    ]);
    const kubernetes = { target: "kubernetes", gatehouseImage: "g", devnetImage: "d" };
    expect(warningsOf({ existing: { namespace: "monitoring" } }, kubernetes)).toEqual([
      expect.stringContaining("are broken"),
    ]);
  });
});
