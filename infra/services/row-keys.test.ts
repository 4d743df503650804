import { describe, expect, it } from "vitest";
import { findServiceRow, listPublishedPorts, listStackServices, stackServices } from "../stack-services.ts";
import { configSchema } from "../config/config-schema.ts";
import { findImageKey, findPortKey, readHostPort, readImage } from "./row-keys.ts";

/** Parses a configuration that has a value at this key, and a section for each monitoring service. */
function parseWith(key: string, value: unknown) {
  const sections: Record<string, Record<string, unknown>> = { prometheus: {}, alertmanager: {}, grafana: {} };
  const [top = "", section = "", field = ""] = key.split(".");
  if (section === "") return configSchema.parse({ [top]: value, observability: sections });
  return configSchema.parse({ [top]: { ...sections, [section]: { [field]: value } } });
}

const images = [...new Set(listStackServices().map((name) => stackServices[name].image))];

describe("the keys derived from the service table", () => {
  it.each(images)("set the image %s", (image) => {
    const reference = "registry.example/image:1";
    expect(readImage(parseWith(findImageKey(image), reference), image)).toBe(reference);
    expect(readImage(configSchema.parse({}), image)).toBeUndefined();
  });

  it.each(listPublishedPorts())("set the host port $as", ({ as }) => {
    expect(readHostPort(parseWith(findPortKey(as), 12_345), as)).toBe(12_345);
  });

  it("keep their documented names", () => {
    expect([findImageKey("pushgateway"), findImageKey("grafana")]).toEqual([
      "pushgatewayImage",
      "observability.grafana.image",
    ]);
    expect([findPortKey("resourceServerOperations"), findPortKey("prometheus")]).toEqual([
      "resourceServerOperationsPort",
      "observability.prometheus.port",
    ]);
  });
});

describe("the published ports of a service", () => {
  it.each(listPublishedPorts())("exist in its row of the service table: $as", ({ service, port }) => {
    expect(findServiceRow(service).ports[port]).toBeGreaterThan(0);
  });
});
