import { tokenize } from "@humanwhocodes/momoa";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodeReleases, parseNodeVersion } from "#node/versions.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import type { Desired } from "#node/conf/monitor-values.ts";
import { monitorFields, findNaming } from "#node/conf/monitor-config.ts";
import { plan, type Plan } from "./plan.ts";
import { readDocument } from "#node/testing/read-document.ts";

const fallback = { jobName: "made-up", pushAddress: "gateway.example", pushPort: 9091, pushIntervalSeconds: 10 };
const desiredState: Desired = { monitor: { enabled: true, fallback }, prune: { enabled: true } };

function planText(text: string, version: string, desiredPorts: Desired = desiredState): Plan {
  return plan({ document: readDocument(text), version: parseNodeVersion(version) }, desiredPorts);
}

/** A plan for a node that is down and ran v0.15.0 before. */
function doubted(text: string): Plan {
  const observedState = { document: readDocument(text), version: parseNodeVersion("0.15.0"), nodeHas: "unknown" };
  return plan({ ...observedState, doubt: "the node is down; start it" }, desiredState);
}

function written(planned: Plan): string | undefined {
  return planned.actions.find((action) => action.kind === "write-config")?.text;
}

/** The monitor_config after the plan, with a port and an address from the settings. */
const planMonitor = (text: string, pushPort?: number, pushAddress?: string) => {
  const desiredPorts: Desired = { ...desiredState, monitor: { ...desiredState.monitor, pushPort, pushAddress } };

  return readDocument(written(planText(text, "0.16.2", desiredPorts)) ?? "").chain["monitor_config"];
};

const style = fc.record({
  eol: fc.constantFrom("\n", "\r\n"),
  indent: fc.constantFrom("  ", "    ", "\t", ""),
  colon: fc.constantFrom(": ", ":", " : "),
  comments: fc.boolean(),
  trailingComma: fc.boolean(),
});

type Style = Readonly<{ eol: string; indent: string; colon: string; comments: boolean; trailingComma: boolean }>;

const valuesByField = {
  enabled: fc.constantFrom(true, false, "true", 1),
  jobName: fc.constantFrom("node-1", "", 'with "quotes"', 7),
  pushAddress: fc.constantFrom("10.0.0.1", "http://gateway:9091/x", "::1", null),
  pushIntervalSeconds: fc.constantFrom(5, "15", -1, 2.5),
  pushPort: fc.constantFrom(9091, "9091", 0, 70_000),
};

const entry = fc.oneof(
  ...monitorFields.flatMap((field) =>
    nodeReleases.map(({ monitorKeys }) => fc.tuple(fc.constant(monitorKeys[field]), valuesByField[field])),
  ),
  fc.tuple(fc.constantFrom("operators_own", "z"), fc.constantFrom("kept", 12_345)),
);

/** Writes a configuration in a style, with an integer beyond 2^53 and comments in every gap. */
function render(entries: readonly (readonly [string, unknown])[], s: Style): string {
  const { eol, indent, colon } = s;
  const comment = (words: string) => (s.comments ? ` /* ${words} */` : "");
  const last = s.trailingComma && entries.length > 0 ? "," : "";
  const lines = entries.map(
    ([key, value], index) =>
      `${indent.repeat(3)}${JSON.stringify(key)}${colon}${JSON.stringify(value)}${index < entries.length - 1 ? "," : last}${comment(`after ${index}`)}`,
  );
  return [
    "{" + comment("top"),
    `${indent}"big"${colon}123456789012345678901234567890,`,
    `${indent}"chain"${colon}{`,
    `${indent.repeat(2)}"monitor_config"${colon}{${comment("inside")}`,
    ...lines,
    `${indent.repeat(2)}},${comment("behind")}`,
    `${indent.repeat(2)}"other"${colon}[1,  2]`,
    `${indent}}`,
    "}" + comment("end"),
    "",
  ].join(eol);
}

function commentsOf(text: string): readonly string[] {
  return tokenize(text, { mode: "jsonc" })
    .filter(({ type }) => type === "LineComment" || type === "BlockComment")
    .map(({ loc }) => text.slice(loc.start.offset, loc.end.offset));
}

const configuration = fc
  .tuple(fc.uniqueArray(entry, { selector: ([key]) => key, maxLength: 12 }), style)
  .map(([entries, s]) => render(entries, s));

const version = fc.constantFrom("0.9.0", "0.10.3", "v0.11", "0.15.0", "0.16.0-rc.1", "0.16.2", "1.0.0");

const monitor = fc.record({
  enabled: fc.boolean(),
  jobName: fc.option(fc.constantFrom("set-job"), { nil: undefined }),
  pushAddress: fc.option(fc.constantFrom("10.9.9.9"), { nil: undefined }),
  pushPort: fc.option(fc.constantFrom(443), { nil: undefined }),
  pushIntervalSeconds: fc.option(fc.constantFrom(30), { nil: undefined }),
  fallback: fc.constant(fallback),
});

describe("plan", () => {
  test("has nothing to do after being applied, and changes nothing else", () => {
    fc.assert(
      fc.property(configuration, version, monitor, (text, nodeVersion, desiredMonitor) => {
        const desiredPorts: Desired = { ...desiredState, monitor: desiredMonitor };
        const first = planText(text, nodeVersion, desiredPorts);
        expect(first.problems).toEqual([]);
        const after = written(first);
        if (after === undefined) return;
        expect(planText(after, nodeVersion, desiredPorts)).toEqual({ actions: [], problems: [] });
        expect(commentsOf(after)).toEqual(commentsOf(text));
        const [start, end] = [text.indexOf('"monitor_config"'), text.lastIndexOf('"other"')];
        expect(after.slice(0, start)).toBe(text.slice(0, start));
        expect(after.slice(after.lastIndexOf('"other"'))).toBe(text.slice(end));
      }),
      { numRuns: 500 },
    );
  });

  test("leaves only keys that the version reads", () => {
    fc.assert(
      fc.property(configuration, version, (text, nodeVersion) => {
        const after = written(planText(text, nodeVersion)) ?? text;
        const parsed = parseNodeVersion(nodeVersion);
        if (parsed === undefined) throw new Error("no version");
        const { own, others } = findNaming(parsed);
        const keys = Object.keys(readDocument(after).chain["monitor_config"] as object);
        expect(keys).toEqual(expect.arrayContaining(Object.values(own)));
        for (const key of others.flatMap(Object.values<string>)) expect(keys).not.toContain(key);
      }),
    );
  });

  test("keeps the values under the new names in an upgrade", () => {
    const text =
      '{"chain":{"monitor_config":{"enable_pamir_cetina":true,"pamir_cetina_job_name":"n","pamir_cetina_push_address":"a","pamir_cetina_push_interval":7,"pamir_cetina_push_port":1}}}';
    const after = written(planText(text, "0.16.0"));
    expect(after).toBe(
      text.replaceAll("enable_pamir_cetina", "storage_enable_cetina").replaceAll("pamir_cetina_", "storage_cetina_"),
    );
    expect(written(planText(after ?? "", "0.15.0"))).toBe(text);
  });

  test("removes the instance name, which has no key in 0.16, and reports its value", () => {
    const text =
      '{"chain":{"monitor_config":{"enable_pamir_cetina":true,"pamir_cetina_job_name":"n","pamir_cetina_push_address":"a","pamir_cetina_push_interval":7,"pamir_cetina_push_port":1,"pamir_cetina_instance_name":"node-7"}}}';
    expect(planText(text, "0.15.9")).toEqual({ actions: [], problems: [] });
    const [action] = planText(text, "0.16.0").actions;
    const changes = action?.kind === "write-config" ? action.changes : [];
    expect(changes.slice(5)).toEqual([
      {
        kind: "remove",
        key: "pamir_cetina_instance_name",
        reason:
          'node 0.16.0 reads the storage_* names (0.16.0 and later), which have no instance key; it was "node-7": give each node of the job its own monitor.jobName',
      },
    ]);
    expect(written(planText(text, "0.16.0"))).not.toContain("instance_name");
  });

  test("restores lost keys from earlier files, in either naming, before falling back to a default", () => {
    const healthyValues = { enable_pamir_cetina: false, pamir_cetina_job_name: "n", pamir_cetina_push_port: "9092" };
    const good = { storage_cetina_job_name: "m", storage_cetina_push_address: "10.0.0.1", storage_cetina_push_port: 1 };
    const desiredPorts: Desired = {
      ...desiredState,
      monitor: { ...desiredState.monitor, pushPort: undefined, earlier: [healthyValues, good] },
    };
    const [create] = planText('{"chain":{}}', "0.16.2", desiredPorts).actions;
    const kept = {
      storage_cetina_job_name: "n",
      storage_cetina_push_address: "10.0.0.1",
      storage_cetina_push_port: 9092,
    };
    expect(create).toMatchObject({
      changes: [{ value: { storage_enable_cetina: true, ...kept, storage_cetina_push_interval: 10 } }],
    });
    const own = '{"chain":{"monitor_config":{"storage_cetina_job_name":"own"}}}';
    const [insert] = planText(own, "0.16.2", {
      ...desiredPorts,
      monitor: { ...desiredPorts.monitor, pushPort: 443 },
    }).actions;
    const changes = insert?.kind === "write-config" ? insert.changes : [];
    expect(changes.map((change) => ("value" in change ? change.value : undefined))).toEqual([
      true,
      "10.0.0.1",
      10,
      443,
    ]);
    expect(changes[1]?.reason).toBe("as in the last healthy node.conf");
  });

  test("uses the port pasted with the address unless the file or a setting has one", () => {
    const pastedText = '{"chain":{"monitor_config":{"storage_cetina_push_address":"http://10.0.0.5:9099"}}}';
    expect(planMonitor(pastedText)).toMatchObject({
      storage_cetina_push_address: "10.0.0.5",
      storage_cetina_push_port: 9099,
    });
    const both = pastedText.replace("}}}", ',"storage_cetina_push_port":9092}}}');
    expect(planMonitor(both)).toMatchObject({ storage_cetina_push_port: 9092 });
    expect(planMonitor(pastedText, 443)).toMatchObject({ storage_cetina_push_port: 443 });
    expect(planMonitor(pastedText, undefined, "10.0.0.9")).toMatchObject({ storage_cetina_push_port: 9091 });
    const pamir = pastedText.replace("storage_cetina", "pamir_cetina").replace("10.0.0.5", "[2001:db8::1]");
    expect(planMonitor(pamir)).toMatchObject({
      storage_cetina_push_address: "2001:db8::1",
      storage_cetina_push_port: 9099,
    });
  });

  test("adds monitor_config to a file without it", () => {
    const after = written(planText('{\n\t"chain": {\n\t\t"a": 1\n\t}\n}\n', "0.16.2"));
    expect(after).toContain('\t\t"monitor_config": {\n\t\t\t"storage_enable_cetina": true,');
    expect(planText(after ?? "", "0.16.2").actions).toEqual([]);
  });

  test.each([
    ["an empty one-line object", '{"chain":{"monitor_config":{}, "a":  1}}'],
    ["an empty object with a comment", '{"chain":{"monitor_config":{ /* none */ }}} // end\n'],
    ["an empty object across lines", '{\r\n\t"chain": {\r\n\t\t"monitor_config": {\r\n\t\t}, "a":  1\r\n\t}\r\n}'],
    ["not an object", '{"chain": {"monitor_config": null, "a":  1 /* none */}}\n'],
    ["nothing", '{"chain": {"a":  1 // one\n}}'],
    ["missing from an empty chain", '{"chain":{ }, "__proto__":  {"a":  1}}'],
  ])("keeps every surrounding byte if monitor_config is %s", (_, text) => {
    const first = planText(text, "0.16.2");
    expect(first.problems).toEqual([]);
    const after = written(first) ?? "";
    expect(planText(after, "0.16.2")).toEqual({ actions: [], problems: [] });
    const rest = text.replace(/"monitor_config": ?(null|\{\s*|\{ )/, "");
    let at = 0;
    for (const char of rest) {
      at = after.indexOf(char, at) + 1;
      expect(at, `${char} of ${after}`).toBeGreaterThan(0);
    }
    expect(after.includes("\r\n")).toBe(text.includes("\r\n"));
  });

  test("reports a missing Pushgateway and enables nothing", () => {
    const desiredPorts: Desired = {
      ...desiredState,
      monitor: { enabled: true, fallback: { ...fallback, pushAddress: undefined } },
    };
    const planned = planText('{"chain":{}}', "0.16.2", desiredPorts);
    expect(planned.actions).toEqual([]);
    expect(planned.problems).toEqual([
      {
        reason: "PushAddressUnknown",
        message:
          "monitor.enabled is true, but no Pushgateway is configured; set monitor.pushAddress (GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS), or monitor.enabled to false (GATEHOUSE_SIDECAR_MONITOR_ENABLED).",
      },
    ]);
  });

  test("reports the position of a duplicate key and leaves it unchanged", () => {
    const planned = planText(
      '{"chain":{"monitor_config":{"storage_cetina_push_port":1,\n"storage_cetina_push_port":2}}}',
      "0.16.2",
    );
    expect(planned.actions).toEqual([]);
    expect(planned.problems[0]?.message).toBe(
      "node.conf has the key chain.monitor_config.storage_cetina_push_port twice (line 2, column 1); remove one of the two.",
    );
  });

  test("rejects JSON5", () => {
    const text = "{chain: {monitor_config: {storage_enable_cetina: false}, hex: 0x10}}";
    expect(planText(text, "0.16.2").problems[0]?.message).toContain("is JSON5, which can't be edited in place");
  });

  test("plans a restart if the node has read a different configuration", () => {
    const text = written(planText('{"chain":{}}', "0.16.2")) ?? "";
    const document = readDocument(text);
    const observedState = { document, version: parseNodeVersion("0.16.2") };
    expect(plan({ ...observedState, nodeHas: fingerprintConfig(document) }, desiredState).actions).toEqual([]);
    expect(plan({ ...observedState, nodeHas: "unknown" }, desiredState).actions).toMatchObject([{ kind: "restart" }]);
    const commentedDocument = readDocument(`// words\n${text}`);
    expect(
      plan({ ...observedState, document: commentedDocument, nodeHas: fingerprintConfig(document) }, desiredState)
        .actions,
    ).toEqual([]);
  });

  test("corrects only values under existing names if the version is uncertain: no renames, additions or restarts", () => {
    const storage = written(planText('{"chain":{}}', "0.16.2")) ?? "";
    const pamir = written(planText('{"chain":{}}', "0.15.0")) ?? "";
    expect(doubted(pamir.replace("true", "false")).actions).toMatchObject([
      { kind: "write-config", text: pamir },
      { kind: "restart" },
    ]);
    for (const text of [storage, '{"chain":{}}']) {
      expect(doubted(text)).toEqual({
        actions: [],
        problems: [
          {
            reason: "VersionUnknown",
            message:
              "the key names of monitor_config are uncertain, so they are not changed: the node is down; start it.",
          },
        ],
      });
    }
  });

  test("writes and restarts nothing if the version is unknown", () => {
    const emptyPlan = plan({ document: readDocument('{"chain":{}}'), nodeHas: "unknown" }, desiredState);
    expect(emptyPlan.actions).toEqual([]);
    expect(emptyPlan.problems).toMatchObject([{ reason: "VersionUnknown" }]);
  });

  test("enables auto-pruning if it is off", () => {
    const pruneInfo = {
      autoPrune: false,
      reservedWindow: 100_000n,
      pruneReservedVersion: 0n,
      flushedVersion: 0n,
      realPruneReservedVersion: 0n,
    };
    expect(plan({ pruneInfo }, desiredState).actions).toMatchObject([{ kind: "enable-auto-prune" }]);
    expect(plan({ pruneInfo: { ...pruneInfo, autoPrune: true } }, desiredState)).toEqual({ actions: [], problems: [] });
    expect(
      plan({ pruneInfo: { ...pruneInfo, autoPrune: true } }, { ...desiredState, prune: { enabled: false } }).problems,
    ).toMatchObject([{ reason: "CannotDisable" }]);
  });
});
