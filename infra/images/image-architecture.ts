/** The processors that images are built for: npm's names by Docker's. */
export const npmArchitectures = { amd64: "x64", arm64: "arm64" } as const;

/** A processor that images are built for. */
export type ImageArchitecture = keyof typeof npmArchitectures;

export const imageArchitectures = Object.keys(npmArchitectures) as readonly ImageArchitecture[];

/** Finds an architecture by Docker's or Node's name for it; `undefined` for a processor that no image is built for. */
export function findImageArchitecture(name: string | undefined): ImageArchitecture | undefined {
  return imageArchitectures.find((known) => name === known || name === npmArchitectures[known]);
}
