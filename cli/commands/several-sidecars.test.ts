import { describe, expect, it } from "vitest";
import { findSeveralMisuse, formatCommands, type TypedSidecars } from "./several-sidecars.ts";

const urls = ["http://10.0.0.7:9600", "node-8=http://10.0.0.8:9600"];
const misuse = (typed: Partial<TypedSidecars>) => findSeveralMisuse({ cancel: false, ...typed });

describe("several sidecars", () => {
  it.each<[string, Partial<TypedSidecars>, string]>([
    ["both ways to name them", { url: urls, targets: ["nodes.txt"] }, "by --url or by --targets"],
    ["a state directory", { url: urls, stateDirectory: "/a" }, "name one sidecar; name several by --url or --targets"],
    ["the settings of one", { targets: ["nodes.txt"], settings: "a.json5" }, "name one sidecar"],
    ["the withdrawal of one", { url: urls, cancel: true }, "--cancel withdraws the upgrade of one sidecar"],
    ["a time", { url: urls, at: { kind: "time", atMs: 1 } }, "two nodes could be down at once"],
    ["a height", { targets: ["nodes.txt"], at: { kind: "height", height: 1 } }, "only --at now is possible"],
    ["two tokens of one", { url: ["http://10.0.0.7:9600"], tokenFile: ["a", "b"] }, "given twice for one sidecar"],
    ["a limit of each for one", { eachWithin: 60 }, "--each-within goes with several"],
  ])("do not go with %s", (_, typed, words) => {
    expect(misuse(typed)).toContain(words);
  });

  it("go with one token for all, and with --at now", () => {
    expect(misuse({ url: urls, tokenFile: ["token"], at: "now", eachWithin: 60 })).toBeUndefined();
    expect(misuse({ targets: ["nodes.txt"], tokenFile: ["token", "a=other"] })).toBeUndefined();
    expect(misuse({ url: ["http://10.0.0.7:9600"], tokenFile: ["token"] })).toBeUndefined();
  });

  it("are resumed by commands that name the same ones, without their credentials", () => {
    const targets = [
      { name: "10.0.0.7:9600", url: "", shownUrl: "http://10.0.0.7:9600/" },
      { name: "node-8", url: "", shownUrl: "http://10.0.0.8:9600/" },
    ];
    const tokenFiles = new Map([["node-8", "/run/the token"]]);
    const typed = { cancel: false, dryRun: false, yes: true, confirm: undefined, source: "/srv/0.17.0" };
    const words = ["nodes.txt", "http://me:secret@10.0.0.7:9600", "node-8=http://me:secret@10.0.0.8:9600"];
    const { again, only } = formatCommands(
      { ...typed, version: "0.17.0", at: "now", eachWithin: 60, targets: words, tokenFile: ["node-8=/run/the token"] },
      { targets, tokenFiles },
    );
    const common = "gatehouse upgrade /srv/0.17.0 --node-version 0.17.0 --at now --each-within 60";
    const token = "--token-file 'node-8=/run/the token'";
    expect(again).toBe(`${common} ${token} --targets nodes.txt http://10.0.0.7:9600 node-8=http://10.0.0.8:9600`);
    expect(only(["node-8"])).toBe(`${common} ${token} --targets node-8=http://10.0.0.8:9600`);
    expect(only(["10.0.0.7:9600"])).toBe(`${common} --targets 10.0.0.7:9600=http://10.0.0.7:9600`);
    const repeated = formatCommands({ ...typed, version: undefined, url: urls }, { targets, tokenFiles });
    expect(repeated.again).toBe(
      "gatehouse upgrade /srv/0.17.0 --url http://10.0.0.7:9600 --url node-8=http://10.0.0.8:9600",
    );
  });
});
