import { describe, expect, it } from "vitest";
import { configSchema } from "../config/config-schema.ts";
import { listImages, findUnconfiguredImages } from "./stack-images.ts";

const nodeImage = "registry.example/node:0.16.2@sha256:0";
const routes = { "GET /data": { upstream: "http://data.example" } };
const pushgatewayUrl = "http://push.example:9091";

describe("the images of a stack", () => {
  it("include Gatehouse's two, the official Pushgateway and the configured ones", () => {
    const config = configSchema.parse({ postgresImage: "postgres:17", devnetImage: "devnet:1" });
    expect(listImages(config)).toEqual({
      devnet: "devnet:1",
      postgres: "postgres:17",
      pushgateway: expect.stringMatching(/^prom\/pushgateway:/) as string,
    });
    expect(findUnconfiguredImages(config)).toEqual(["gatehouse"]);
    expect(findUnconfiguredImages(configSchema.parse({}))).toEqual(["gatehouse", "devnet"]);
  });

  it("exclude the devnet image for a real node that sells its own routes, even if one is configured", () => {
    const config = configSchema.parse({ nodeImage, routes, pushgatewayUrl, devnetImage: "devnet:1" });
    expect(listImages(config)).toEqual({ node: nodeImage });
    expect(findUnconfiguredImages(config)).toEqual(["gatehouse"]);
  });

  it("include the devnet image for a real node without routes", () => {
    expect(findUnconfiguredImages(configSchema.parse({ nodeImage }))).toEqual(["gatehouse", "devnet"]);
  });
});
