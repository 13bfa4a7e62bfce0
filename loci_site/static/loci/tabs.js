/* On a narrow screen the tabs scroll sideways: the one that is open is in view. */
document.querySelectorAll(".loci-tab.loci-here").forEach((tab) => { tab.parentElement.scrollLeft = tab.offsetLeft - 16; });
