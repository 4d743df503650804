import { renderMermaidSVG } from "beautiful-mermaid";

/** The site's own colours, so that a diagram is dark when the page is. */
const colours = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", muted: "var(--vp-c-text-2)", transparent: true };

/** Smallest scale to which a diagram is shrunk to fit; its text is still legible. */
const smallest = 0.75;

/**
 * Renders a Mermaid diagram as an HTML element while the site is built. A diagram that does not fit is shrunk and, if that is not enough,
 * scrolls.
 *
 * @throws {Error} when the text is not a diagram, so that the build fails.
 */
export function drawDiagram(text: string): string {
  // The renderer links to an external font, which the site includes itself.
  const svg = renderMermaidSVG(text, colours).replace(/@import url\([^)]*\);/g, "");
  const fitting = svg.replace(/ width="([\d.]+)" height="[\d.]+" style="/, (_, width: string) => {
    const least = Math.round(Number(width) * smallest);
    return ` style="width:100%;max-width:${width}px;min-width:${least}px;height:auto;`;
  });
  // Vue doesn't allow <style> in a template.
  return `<div class="diagram" style="overflow-x: auto" tabindex="0" v-html="${escapeAttribute(JSON.stringify(fitting))}"></div>`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
