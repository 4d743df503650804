import { describe, expect, it } from "vitest";
import { createLog } from "./log.ts";
import { formatPrettyLines } from "./log-format.ts";

describe("the log format", () => {
  it("is JSON if requested, and by default if the output is not a terminal", async () => {
    expect(await formatPrettyLines("auto", {}, {})).toBeUndefined();
    expect(await formatPrettyLines("json", { isTTY: true }, {})).toBeUndefined();
  });

  it("is one line with time, level, message and facts on a terminal, without colours if disabled", async () => {
    const lines: string[] = [];
    const pretty = await formatPrettyLines("auto", { isTTY: true }, { NO_COLOR: "1" });
    const log = createLog({ service: "test", level: "info", pretty }, { write: (line) => void lines.push(line) });
    log.warn({ event: "rate-store-lost", url: "http://127.0.0.1:1", err: new Error("no answer") }, "not reached");
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: not reached/);
    expect(lines[0]).toContain('"url":"http://127.0.0.1:1"');
    expect(lines[0]).toContain("no answer");
    expect(lines[0]).toContain('"event":"rate-store-lost"');
    expect(lines[0]).toContain("daemon/log/log-format.test.ts");
    expect(lines[0]).not.toContain("\u001b[");
    expect(lines[0]).not.toMatch(/service\.|"ecs|@timestamp/);
  });

  it("shows a condition only once, and no stack for a system error", async () => {
    const lines: string[] = [];
    const pretty = await formatPrettyLines("pretty", {}, {});
    const log = createLog({ service: "test", level: "info", pretty }, { write: (line) => void lines.push(line) });
    const condition = { type: "RpcResponding", status: "False", reason: "ConnectionRefused", message: "it rejects" };
    const err = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
    log.warn({ event: "condition-failed", condition, err }, "RpcResponding is False (ConnectionRefused): it rejects");
    expect(lines[0]?.match(/it rejects/g)).toHaveLength(1);
    expect(lines[0]).toContain("connect ECONNREFUSED 127.0.0.1:1");
    expect(lines[0]?.trimEnd()).not.toContain("\n");
  });

  it("has colours on a terminal", async () => {
    const pretty = await formatPrettyLines("pretty", { isTTY: true }, {});
    expect(pretty?.('{"log.level":"warn","@timestamp":"2026-01-01T00:00:00.000Z","message":"careful"}')).toContain(
      "\u001b[",
    );
  });

  it("keeps a line not written by a service", async () => {
    const pretty = await formatPrettyLines("pretty", {}, {});
    expect(pretty?.("Error: torn\n").trim()).toBe("Error: torn");
    expect(pretty?.("{broken\n").trim()).toBe("{broken");
  });
});
