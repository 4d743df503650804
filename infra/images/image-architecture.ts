/** The processors that images are built for, by Docker's names, and what npm calls them. */
export const npmArchitectures = { amd64: "x64", arm64: "arm64" } as const;

/** A processor that images are built for. */
export type ImageArchitecture = keyof typeof npmArchitectures;

export const imageArchitectures = Object.keys(npmArchitectures) as readonly ImageArchitecture[];

/** The one of that name, which is Docker's or Node's; `undefined` for a processor that no image is built for. */
export function findImageArchitecture(name: string | undefined): ImageArchitecture | undefined {
  return imageArchitectures.find((known) => name === known || name === npmArchitectures[known]);
}
