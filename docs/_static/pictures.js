// A picture of pixels, such as a screenshot, is too small on a phone: a tap opens it, to be enlarged.
"use strict";

function linkPictures() {
  for (const picture of document.querySelectorAll("article p > img[src$='.png']")) {
    const link = document.createElement("a");
    link.className = `image-reference ${picture.className}`;
    link.href = picture.src;
    picture.replaceWith(link);
    link.append(picture);
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", linkPictures);
else linkPictures();
