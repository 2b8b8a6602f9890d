import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Puts the script and the style into the page, so that the page is one file. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = Object.values(bundle).find((file) => file.fileName.endsWith(".html"));
      if (page?.type !== "asset") return;
      let html = String(page.source);
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          const code = file.code.replaceAll("</script", "<\\/script").trimEnd();
          html = html.replace(/<script type="module"[^>]*src="[^"]*"><\/script>\s*/, "");
          html = html.replace("</body>", () => `<script type="module">${code}</script>\n</body>`);
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          html = html.replace(
            /<link rel="stylesheet"[^>]*>\s*/,
            () => `<style>${String(file.source).trim()}</style>\n`,
          );
          delete bundle[name];
        }
      }
      page.source = html;
    },
  };
}

/** The report is index.html; `--mode plan` builds plan.html, the page that plans. */
export default defineConfig(({ mode }) => ({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    assetsInlineLimit: 1_000_000,
    modulePreload: false,
    cssCodeSplit: false,
    emptyOutDir: mode !== "plan",
    rollupOptions: { input: mode === "plan" ? "plan.html" : "index.html" },
  },
  test: { include: ["test/*.test.ts"] },
}));
