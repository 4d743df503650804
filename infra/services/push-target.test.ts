import { describe, expect, it } from "vitest";
import { parseConfig } from "../stack-config.ts";
import { dockerAddresses } from "./stack-context.ts";
import { findPushTarget } from "./push-target.ts";
import { listImages } from "./stack-images.ts";

const target = (pushgatewayUrl: string) => findPushTarget(parseConfig({ pushgatewayUrl }), dockerAddresses);

describe("the Pushgateway of a stack", () => {
  it("is the stack's own, pinned by digest, unless a URL is set", () => {
    const config = parseConfig({});
    expect(findPushTarget(config, dockerAddresses)).toEqual({
      host: "pushgateway",
      port: 9_091,
      edge: { to: "pushgateway", port: "http" },
    });
    expect(listImages(config).pushgateway).toMatch(/^prom\/pushgateway:v1\.11\.3@sha256:[0-9a-f]{64}$/);
    expect(listImages(parseConfig({ pushgatewayUrl: "http://push.example:9091" })).pushgateway).toBeUndefined();
  });

  it("is reachable at the URL's namespace, address or port", () => {
    expect(target("http://push.monitoring.svc:9091")).toEqual({
      host: "push.monitoring.svc",
      port: 9_091,
      edge: { to: "namespace", namespace: "monitoring" },
    });
    expect(target("http://10.1.2.3")).toEqual({
      host: "10.1.2.3",
      port: 80,
      edge: { to: "host", port: 80, cidr: "10.1.2.3/32" },
    });
    expect(target("http://[fd00::7]:9091")).toMatchObject({ host: "fd00::7", edge: { cidr: "fd00::7/128" } });
    expect(target("http://push.example:9091").edge).toEqual({ to: "host", port: 9_091, cidr: undefined });
  });

  it("rejects a URL that the node can't push to", () => {
    for (const url of ["https://push.example:9091", "push.example:9091"]) {
      expect(() => target(url), url).toThrow("expected an http:// URL of a Pushgateway");
    }
    for (const url of ["http://push.example/prefix", "http://me:pw@push.example"]) {
      expect(() => target(url), url).toThrow("found more than a host and a port");
    }
    expect(() => target("http://me:pw@push.example")).not.toThrow("pw@");
    for (const url of ["http://127.0.0.1:9091", "http://localhost:9091", "http://[::1]:9091"]) {
      expect(() => target(url), url).toThrow("is the container itself");
    }
  });
});
