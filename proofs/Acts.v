(** A season of acts that draw from one pair of laws, as a course of Theorem 2. *)

From Coq Require Import ZArith QArith Lia Lqa.
From Tarry Require Import Sums Season.
Open Scope Q_scope.

(** Integer masses over a denominator D, as chances. *)
Definition over (D : Z) (mass : Z -> Z) (k : Z) : Q := inject_Z (mass k) / inject_Z D.

(** A positive integer is a positive fraction. *)
Lemma positive_denominator D : (0 < D)%Z -> 0 < inject_Z D.
Proof. intros. change 0 with (inject_Z 0). now rewrite <- Zlt_Qlt. Qed.

(** Masses that are not negative are chances that are not negative. *)
Lemma over_not_negative D mass k : (0 < D)%Z -> (0 <= mass k)%Z -> 0 <= over D mass k.
Proof.
  intros positive mass_k. apply Qle_shift_div_l; [now apply positive_denominator |].
  rewrite Qmult_0_l. change 0 with (inject_Z 0). now rewrite <- Zle_Qle.
Qed.

(** Masses that sum to the denominator are a law. *)
Lemma over_is_a_law D n mass : (0 < D)%Z -> (forall k, (0 <= mass k)%Z) -> sum n mass = D ->
  is_law n (over D mass).
Proof.
  intros positive masses total. split; [intros; now apply over_not_negative |].
  unfold over. rewrite qsum_of_integers, total. field. pose proof (positive_denominator D positive). lra.
Qed.

(** What (a) and (b) say in integers, q f <= p g, in fractions: f <= (p / q) g. *)
Lemma over_dominates D p q f g : (0 < D)%Z -> (0 < q)%Z -> (q * f <= p * g)%Z ->
  inject_Z f / inject_Z D <= inject_Z p / inject_Z q * (inject_Z g / inject_Z D).
Proof.
  intros posD posq less. pose proof (positive_denominator D posD). pose proof (positive_denominator q posq).
  setoid_replace (inject_Z p / inject_Z q * (inject_Z g / inject_Z D))
    with ((inject_Z p * inject_Z g) / inject_Z q / inject_Z D) by (field; split; lra).
  apply Qmult_le_compat_r; [| apply Qlt_le_weak, Qinv_lt_0_compat; assumption].
  apply Qle_shift_div_l; [assumption |]. rewrite <- !inject_Z_mult, <- Zle_Qle. lia.
Qed.

(** The sum of Theorem 2 in integers: at c = y / x it is the sum of the positive parts of x f - y g, over
    x D. *)
Lemma H_of_integers y x D n f g : (0 < D)%Z ->
  H (y # x) n (over D f) (over D g) ==
  inject_Z (sum n (fun i => pos (Zpos x * f i - y * g i))) / inject_Z (Zpos x * D).
Proof.
  intros posD. rewrite <- qsum_of_integers. apply qsum_ext. intros i _. unfold over.
  pose proof (positive_denominator D posD). pose proof (positive_denominator (Zpos x) eq_refl).
  assert (0 < / inject_Z (Zpos x * D)) by (apply Qinv_lt_0_compat, positive_denominator; lia).
  transitivity (qpos (/ inject_Z (Zpos x * D) * inject_Z (Zpos x * f i - y * g i))).
  - apply qpos_proper. unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp, !inject_Z_mult, Qmake_Qdiv.
    field. split; lra.
  - rewrite qpos_times, qpos_of_integer by lra. apply Qmult_comm.
Qed.

(** Integer masses of the delays 0..width-1, over the denominator D. *)
Record law (D width : Z) (mass : Z -> Z) : Prop := Law {
  not_negative : forall k, (0 <= mass k)%Z;
  nothing_outside : forall k, (k < 0 \/ width <= k)%Z -> mass k = 0%Z;
  total : sum width mass = D
}.

Section Acts.

(** The laws of acts that are batched, b, and that are not, u. *)
Variables (D width G : Z) (b u : Z -> Z).
Hypothesis D_positive : (0 < D)%Z.
Hypothesis width_not_negative : (0 <= width)%Z.
Hypothesis G_not_negative : (0 <= G)%Z.
Hypothesis b_law : law D width b.
Hypothesis u_law : law D width u.

(** An act that arrives s later, seen by the same clock. *)
Definition later (s : Z) (mass : Z -> Z) (k : Z) : Z := mass (k - s)%Z.

(** A law is a law on the delays 0..width+G-1 under every shift of 0..G. *)
Lemma shifted_is_a_law mass s : law D width mass -> (0 <= s <= G)%Z ->
  is_law (width + G) (over D (later s mass)).
Proof.
  intros [masses outside all] shift. apply over_is_a_law; [assumption | intros; apply masses |].
  rewrite <- all. apply sum_later; auto.
Qed.

(** A season: things that have one law in both stories, and acts that are batched in truth and unbatched s
    ticks later in the story. What follows may depend on all that was seen. *)
Inductive season :=
| Done
| Common (n : Z) (p : Z -> Q) (next : Z -> season)
| Loses (s : Z) (next : Z -> season).

Fixpoint as_course (t : season) : course :=
  match t with
  | Done => Over
  | Common n p next => See false n p p (fun i => as_course (next i))
  | Loses s next =>
      See true (width + G) (over D (later 0 b)) (over D (later s u)) (fun k => as_course (next k))
  end.

(** Laws are laws, shifts are at most G, and at most N acts lose their label, whatever is seen. *)
Fixpoint loses_at_most (N : nat) (t : season) : Prop :=
  match t with
  | Done => True
  | Common n p next => is_law n p /\ forall i, (0 <= i < n)%Z -> loses_at_most N (next i)
  | Loses s next =>
      (0 <= s <= G)%Z /\
      match N with
      | O => False
      | S fewer => forall k, (0 <= k < width + G)%Z -> loses_at_most fewer (next k)
      end
  end.

(** A pair (P, Q) that is at least as easy to tell apart as any shift. *)
Variables (k : Z) (P Q' : Z -> Q).
Hypothesis P_is_a_law : is_law k P.
Hypothesis Q_is_a_law : is_law k Q'.
Hypothesis covers : forall s, (0 <= s <= G)%Z ->
  dominated k P Q' (width + G) (over D (later 0 b)) (over D (later s u)).

(** Such a season is a course of Theorem 2. *)
Lemma a_season_fits t : forall N, loses_at_most N t -> at_most k P Q' N (as_course t).
Proof.
  induction t as [| n p next IH | s next IH]; intros N fits; simpl in *; [trivial | |].
  - destruct fits as [law_p rest]. split; [assumption |]. split; [reflexivity |]. auto.
  - destruct fits as [shift rest].
    split; [apply shifted_is_a_law; [assumption | lia] |]. split; [now apply shifted_is_a_law |].
    split; [now apply covers |]. destruct N; [assumption | auto].
Qed.

(** Theorem 2 for such a season. *)
Theorem season_costs : forall t N, loses_at_most N t -> forall c ends, 0 <= c ->
  chance_in Truth (as_course t) ends <= c * chance_in Story (as_course t) ends + H_copies k P Q' N 1 c.
Proof. intros. apply every_set; auto using a_season_fits. Qed.

End Acts.
