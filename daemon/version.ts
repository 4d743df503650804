import packageJson from "../package.json" with { type: "json" };

/** The version of Gatehouse, from package.json. */
export const version: string = packageJson.version;
