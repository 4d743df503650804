import { describe, expect, it } from "vitest";
import { parseConfig } from "../../stack-config.ts";
import { findMonitoringWarnings } from "./observability-args.ts";

const warningsOf = (observability: object | undefined, more: Readonly<Record<string, string>> = {}) =>
  findMonitoringWarnings(
    parseConfig({
      devAccounts: "true",
      tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
      ...(observability && { observability: JSON.stringify(observability) }),
      ...more,
    }),
  ).map(({ key, message }) => `${key}: ${message}`);

describe("monitoring warnings of a preview", () => {
  it("are absent without monitoring, or with complete monitoring", () => {
    const runbookBaseUrl = "https://git.example/runbooks";
    const alertmanagerConfig =
      'route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: "https://a.example" }] }]';
    expect(warningsOf(undefined)).toEqual([]);
    expect(warningsOf({})).toEqual([]);
    expect(warningsOf({ runbookBaseUrl, prometheus: {}, alertmanager: {} }, { alertmanagerConfig })).toEqual([]);
  });

  it("report alerts without receivers and broken runbook links", () => {
    expect(warningsOf({ prometheus: {} })).toEqual([
      expect.stringMatching(/^observability\.prometheus: alerts fire in Prometheus, but no one is notified/),
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
