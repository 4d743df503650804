/** Paths of every service's admin port. */
export const operatorPaths = {
  live: "/livez",
  ready: "/readyz",
  configuration: "/configuration",
  metrics: "/metrics",
} as const;

/** Path of the document that describes a listener's API. */
export const openApiPath = "/openapi.json";
